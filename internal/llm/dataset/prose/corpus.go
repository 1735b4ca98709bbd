package prose

// corpus was written for this program. Its only purpose is to be ordinary.
const corpus = `
The river leaves the hills early in the morning and reaches the town before the market opens. People who live near
the bridge say that the water was higher when they were young, and that the stones of the old road can still be seen
in a dry summer. A woman with a basket of bread walks along the bank and counts the boats. Most of them belong to
the same family, which has carried wood and grain down to the coast for more than a hundred years. When the wind is
right the whole trip takes two days, and when it is not nobody asks how long it takes.

In the school behind the church a teacher explains how a simple machine works. A wheel turns, a rope moves, and a
weight that no child could lift goes up without much effort. The class wants to know why. She draws a line on the
board, then another one, and tells them that nothing is free: what you save in force you pay in distance. One of the
boys does not believe her, so they take the rope outside and measure it together. The numbers agree almost exactly,
and the small difference becomes the next question.

A good question is worth more than a quick answer. The engineer who built the mill kept a book in which he wrote down
every failure, the date, the weather and what he thought the reason was. Many of these reasons were wrong, as he
found out later, but because he had written them down he could see where he had been mistaken. His daughter used the
same book to plan the new power station, and she added her own notes at the bottom of each page. Today the book lies
in a glass case in the small museum, open at the page about the flood.

The train to the north runs twice a day. It stops at every village, and the driver knows most of the people who get
on. In winter the snow can close the line for a week, and then the post comes by horse as it did in the past. Nobody
complains about this. They have food and fire, they have time to read, and the children have no school. When the
first engine comes through again everyone stands at the window and waves, although they all say that the quiet was
better.

Far away in a large city a group of young people write programs that answer letters. Each letter is different, but
after a few thousand of them the same things come back: a lost key, a late payment, a question about the price of a
ticket. The machine reads the words, looks for what it has seen before and suggests a reply. Sometimes the reply is
so good that nobody changes it. Sometimes it is strange, and then they sit together and try to understand what
happened inside. They measure how long each step takes, where the time is lost, and how many letters can be handled
in an hour before the first person has to wait.

Waiting is hard to measure well. If you only ask those who were served you will never hear about those who left. The
shop on the corner found this out when it opened a second door. Before, the owner believed that his customers were
happy, since nobody in the line had said a word. Afterwards he saw how many had simply walked past. He began to count
everyone who looked through the window, and the picture changed completely. It is a short story, but every person
who builds a service should know it.

The garden behind the house needs water in the evening and shade at noon. Tomatoes grow along the south wall, beans
climb up the fence, and between the rows there is just enough room for one person with a bucket. An old cat sleeps
under the bench and moves only when the sun does. In the far corner stands a pear tree that was planted on the day
the house was finished. It gives fruit every second year, and nobody knows why, though there are as many theories as
there are neighbors.

At sea the first thing you learn is to look at the sky. A red line in the evening means one thing, a grey wall in the
morning another, and a sudden calm is the worst of all. The captain does not trust instruments that he cannot repair
himself. He uses them, of course, and he writes their numbers into the log, but before he changes course he goes out
on deck and feels the wind on both sides of his face. Young sailors laugh about it until the day the screen stays
dark.

Music came to the valley with the workers who built the tunnel. They sang while they walked to the mountain and they
sang when they came back, and some of the songs stayed when the work was done. The melody of the most famous one is
so simple that a child can play it on three strings. The words have changed many times. In one version a man looks
for his brother, in another he looks for gold, and in the one they sing today he has found both and does not know
which one to keep.

If the budget allows it, the council will repair the library next spring. The roof is the first problem, the heating
the second, and the third is that hardly anyone knows how many books there are. A student offered to count them during
the holidays. She made a plan, divided the rooms into squares, and checked each result twice on different days. Her
report had only four pages. It listed the number, the likely error, and the method, and it ended with a short remark:
two hundred volumes had been found that no catalog had ever mentioned.

Bread is flour, water, salt and patience. Take warm hands and a cold bowl, mix slowly, and do not add more flour only
because the dough feels wet. Let it rest until it has doubled, fold it, and let it rest again. The oven must be hotter
than you think. After twenty minutes open the door for a moment, after forty take the loaf out and knock on the
bottom. If it sounds empty it is ready. Then comes the hardest part, which is to leave it alone until it is cool.
`
